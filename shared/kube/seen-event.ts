/** An Event that says why a pod does not start. */
export interface SeenEvent {
  /** UID of the object. */
  readonly about: string;
  readonly reason: string;
  readonly message: string;
  /** The time of its last repetition, in milliseconds since the epoch. */
  readonly last: number;
}
