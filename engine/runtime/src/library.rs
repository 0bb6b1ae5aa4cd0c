//! Ready-made components: spouts and bolts to use or to build on.
