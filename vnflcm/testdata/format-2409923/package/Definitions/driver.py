# a toy
