"""No secret that is planted in what fadoctor reads stands in what it prints."""
