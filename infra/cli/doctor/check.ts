/** Reads of `lifeboat doctor` that may fail. */
/** Its message says why something could not be read. */
export class Unread extends Error {
  override readonly name = "Unread";
  readonly about: string;

  constructor(about: string, why: string, options?: ErrorOptions) {
    super(why, options);
    this.about = about;
  }
}

/** Undefined, too, where it could not be read: the check that is about it says so. */
export async function readable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Unread) return undefined;
    throw error;
  }
}

export const LOGS = "kubectl -n lifeboat-system logs deployment/lifeboat-server";
