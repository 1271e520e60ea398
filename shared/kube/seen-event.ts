/** Defines an Event that explains why a pod does not start. */
export interface SeenEvent {
  /** The UID of the object that the Event is about. */
  readonly about: string;
  readonly reason: string;
  readonly message: string;
  /** The time of the Event's last occurrence, in milliseconds since the epoch. */
  readonly last: number;
}
