"""What users need to test what they build on Leadhand: a scripted model, a store in memory, a contract for stores."""
