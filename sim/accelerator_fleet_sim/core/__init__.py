"""What every simulated provider shares: values, rules, check, diff, plan and the gRPC servicer."""
