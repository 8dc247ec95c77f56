"""What an AWS account has of a fleet, through boto3."""
