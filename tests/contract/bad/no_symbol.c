/* A library, but not a plugin. */
const int not_a_plugin = 1;
