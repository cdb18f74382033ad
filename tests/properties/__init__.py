"""What has to hold of the shipped rules on every environment."""
