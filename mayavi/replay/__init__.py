"""History run again on our EVM, and compared with what the chain says happened."""
