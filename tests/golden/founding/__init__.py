"""The five reports that fadoctor began with, each as its user would type it."""
