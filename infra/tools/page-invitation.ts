/**
 * Where the page of a Lifeboat on this machine is, and what signs in to it once.
 * Owns: these lines. Does not own: what the code opens (functions/page/sign-in-code.ts).
 */
import { newSignInCode } from "../../functions/page/sign-in-code.ts";

interface Lifeboat {
  /** Of the cluster's doors: `https://HOST/clusters/NAME`. */
  readonly url: string;
  readonly operatorToken: string;
}

/** Its certificate is of an authority that lives as long as the process: a browser asks before it goes on. */
export async function pageInvitation({ url, operatorToken }: Lifeboat, now: Date): Promise<readonly string[]> {
  const { origin, pathname } = new URL(url);
  const cluster = decodeURIComponent(pathname.split("/").at(-1) ?? "");
  const code = await newSignInCode(cluster, { webhookToken: operatorToken, operatorToken }, now);
  return [
    `The page             ${origin}/fleet/${encodeURIComponent(cluster)}`,
    `Signs in once        ${code}`,
    "                     (within ten minutes; your browser warns of the certificate: go on, it is this machine's)",
  ];
}
