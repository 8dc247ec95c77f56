"""What a Google Cloud project has of a fleet, through its REST APIs and google-cloud-tpu."""
