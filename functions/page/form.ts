/** What a visitor sends with a form of ours. */
import { bodyLimit } from "hono/body-limit";
import { RejectionError } from "../rejection.ts";
import type { PageContext } from "./visit.ts";

/** A ServiceAccount's token takes about 1 KB, one of OIDC with many groups a few. */
const LARGEST_FORM_BYTES = 16 * 1024;

export type Form = Readonly<Record<string, string>>;

/**
 * Rejects what another page sends with the visitor's cookie. Every browser that keeps `__Host-` cookies sends at least one of the
 * two headers with a POST, and no page can set them. Behind `kubectl port-forward` the own origin is that of the forwarded port.
 */
export async function readForm(c: PageContext): Promise<Form> {
  const isOwn =
    c.req.header("sec-fetch-site") === "same-origin" || c.req.header("origin") === new URL(c.req.url).origin;
  if (!isOwn) throw new RejectionError("CrossOrigin");
  const [type] = (c.req.header("content-type") ?? "").split(";");
  if (type?.trim().toLowerCase() !== "application/x-www-form-urlencoded")
    throw new RejectionError("UnsupportedMediaType", { message: "expected application/x-www-form-urlencoded" });
  return await limited(c);
}

async function limited(c: PageContext): Promise<Form> {
  const read: Form[] = [];
  const onError = () => {
    throw new RejectionError("PayloadTooLarge", { message: `expected a form of at most ${LARGEST_FORM_BYTES} bytes` });
  };
  const take = async () => void read.push(Object.fromEntries(new URLSearchParams(await c.req.text())));
  await bodyLimit({ maxSize: LARGEST_FORM_BYTES, onError })(c, take);
  return read[0] ?? {};
}
