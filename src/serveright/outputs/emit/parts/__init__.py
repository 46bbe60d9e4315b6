"""What several formats share; none of these modules is a format."""
