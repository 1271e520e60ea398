/**
 * Standard Webhooks: the headers that prove that a delivery is ours and recent. Specification:
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import { createHash } from "node:crypto";
import { Webhook } from "standardwebhooks";

export type Sign = (body: string, now: Date) => Readonly<Record<string, string>>;

/** The same body has the same id, so that the Worker recognises a repeated delivery. */
export function createSigner(secret: string): Sign {
  const webhook = new Webhook(secret);
  return (body, now) => {
    const id = `msg_${createHash("sha256").update(body).digest("base64url")}`;
    return {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
      "webhook-signature": webhook.sign(id, now, body),
    };
  };
}
