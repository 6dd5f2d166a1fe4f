"""How deliveries reach agents: the inbox that an agent reads, and the webhook that we call."""
