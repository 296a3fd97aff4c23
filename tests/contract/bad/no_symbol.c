/* A library, but not a plugin. */
const int something_else = 1;
