"""What runs inside the patient's processes: Python 3.8, the standard library and their torch.

`sitecustomize` is found by every Python that has this folder on its PYTHONPATH. The other files are
named `_fadoctor_*`, so that they shadow nothing there.
"""
