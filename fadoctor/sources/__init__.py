"""What is there: facts of environments, files, logs and kernels of the Hub."""
