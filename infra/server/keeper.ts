/**
 * Reads the certificate and the tokens of this process from the server's Secret. The server never writes this Secret or
 * a webhook.
 */
import type { Client } from "../../shared/kube/client.ts";
import { type Clock, pause } from "../relay/clock.ts";
import { type Identity, lackOf, partsOf, SECRET, ServerSecret } from "./secret.ts";
import { SERVER_MESSAGES as MESSAGES } from "./messages.ts";

export interface KeeperOptions {
  readonly connect: () => Client;
  readonly clock: Clock;
  /** Receives the certificate and the tokens after each read. */
  readonly use: (identity: Identity) => Promise<void> | void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * How often the server reads the Secret, in milliseconds. `lifeboat install` waits longer than this before it removes
 * an old certificate from the caBundle.
 */
const READ_EVERY_MS = 10_000;
const RETRY_MS = 2000;

/** Reads the identity repeatedly. If the Secret is missing or incomplete, the last identity remains in use. */
export async function keep({ connect, clock, use, onFailure }: KeeperOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const isRead = await readIdentity(connect())
      .then(use)
      .then(
        () => true,
        (error: unknown) => {
          onFailure(error);
          return false;
        },
      );
    await pause(clock, isRead ? READ_EVERY_MS : RETRY_MS, signal);
  }
}

export async function readIdentity(cluster: Client): Promise<Identity> {
  const secret = await cluster.get("secrets", SECRET, { as: ServerSecret });
  const where = MESSAGES.secret(SECRET.name, SECRET.namespace);
  if (secret === undefined) throw new Error(MESSAGES.noSecret(where));
  const { pair, webhookToken, operatorToken } = partsOf(secret);
  if (pair === undefined || webhookToken === undefined || operatorToken === undefined) {
    throw new Error(MESSAGES.incompleteSecret(where, lackOf(partsOf(secret))));
  }
  return { pair, webhookToken, operatorToken };
}
