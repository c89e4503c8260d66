# shellcheck shell=bash
# shellcheck disable=SC2153,SC2154  # GETRANDOM_SOURCE and TREE are build.sh's
# The kernel's random numbers, which come from the host's getrandom(): answered from a run's seed by a function that is
# compiled into it. Sourced by build.sh, whose die and variables it uses.

# Puts the function into the tree, beside what of User-Mode Linux is compiled with the C library's headers (*_user.o).
add_getrandom() {
    local directory="$TREE/arch/um/os-Linux"
    # An unchanged file keeps its time in a tree that is kept, so that it is not compiled again.
    cmp -s -- "$GETRANDOM_SOURCE" "$directory/getrandom_user.c" || cp -- "$GETRANDOM_SOURCE" "$directory/getrandom_user.c"
    sed -i '0,/^include .*Makefile\.rules/s//obj-y += getrandom_user.o\n\n&/' "$directory/Makefile"
    grep -q '^obj-y += getrandom_user.o' -- "$directory/Makefile" ||
        die_of_source "Linux $VERSION compiles arch/um/os-Linux otherwise: its random numbers cannot be seeded"
}

# The package that the kernel's C library is of, which is linked in (CONFIG_STATIC_LINK).
c_library() {
    dpkg-query --show --showformat='${source:Package} ${source:Version}' libc6-dev 2>/dev/null || getconf GNU_LIBC_VERSION
}
