"""The kernel's own tests of the network (tools/testing/selftests/net), each in a guest.

`catalogue.py` lists the tests that are built and chooses among them, `needs.py` determines what a
test uses that kernel or machine lack, `study.py` makes the study whose cells are tests, and
`outcomes.py` reads how each of them ended. The tests are those of the very source that the kernel
was built of.
"""
