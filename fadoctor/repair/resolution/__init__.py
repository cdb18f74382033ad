"""What a manifest leaves open, tried out: the versions it admits, judged; and lines to change."""
