"""The kernel's own tests of the network (tools/testing/selftests/net), each in a guest.

`catalogue.py` lists the tests that are built and selects from them, `needs.py` determines what a
test uses and kernel or machine lack, `study.py` makes the study whose cells are tests, and
`outcomes.py` determines how each of them ended. The tests are those in the source from which the
kernel was built.
"""
