/**
 * Which Lifeboat this is.
 * Owns: the version that `/metrics` tells. Does not own: deciding on it (package.json; a test keeps them together).
 */

export const VERSION = "0.1.0";
