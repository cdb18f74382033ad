"""What counts less or not at all: quoted, solved, survived, contradicted, no report."""
