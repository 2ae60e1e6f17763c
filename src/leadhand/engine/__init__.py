"""Drive runs through the ports: controller, attempts, calls, gate, recovery."""
