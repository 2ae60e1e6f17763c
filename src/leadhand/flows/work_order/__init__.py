"""The work-order flow: a request is planned as an order of subtasks, carried out, reviewed and answered."""
