/** An Event, as far as it says why a pod does not start. */
export interface SeenEvent {
  /** UID of the object. */
  readonly about: string;
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since the epoch: of its last repetition. */
  readonly last: number;
}
