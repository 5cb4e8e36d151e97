"""What is to be run: the words and files of the user read, looked up, and planned as trials."""
