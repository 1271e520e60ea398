/** The handling of failed reads in `lifeboat doctor`. */
export class Unread extends Error {
  override readonly name = "Unread";
  readonly about: string;

  constructor(about: string, why: string, options?: ErrorOptions) {
    super(why, options);
    this.about = about;
  }
}

/** Runs the read. Returns undefined if the read fails, because another check reports the failure. */
export async function readable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Unread) return undefined;
    throw error;
  }
}

export const LOGS = "kubectl -n lifeboat-system logs deployment/lifeboat-server";
