"""Makes it happen through the ports: controller, lead, worker, calls, gate, recovery."""
