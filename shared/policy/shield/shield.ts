/**
 * The shield: which VMs are covered, so that they may move after SIGTERM instead of shutting down.
 * Owns: the rules. Does not own: the Plugin that refuses (infra/kubernetes/optional/shield.yaml).
 */

/** The Plugin's condition asks for it, too: what a move takes, and the shutdown if it fails. */
export const MIN_GRACE_SECONDS = 300;
