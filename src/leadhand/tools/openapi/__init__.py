"""OpenAPI documents as tools. Up to 20 operations are tools; of more, three tools find, describe and call them."""
