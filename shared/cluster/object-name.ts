/**
 * Names that objects can have (RFC 1123 subdomains).
 * Owns: telling them from other texts. Does not own: paths (paths.ts).
 *
 * Names come from annotations, paths and answers too, which say what they like: `..` in a URL leads elsewhere, and half a
 * character is in no URL at all. An object of such a name does not exist.
 */
import * as z from "zod/mini";

export function isObjectName(name: string): boolean {
  return /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(name);
}

/** An empty namespace for objects at cluster scope. */
export function isObjectKey({ namespace, name }: { readonly namespace: string; readonly name: string }): boolean {
  return isObjectName(name) && (namespace === "" || isObjectName(namespace));
}

export const ObjectName = z.string().check(z.refine(isObjectName, "expected the name of an object"));

/** Empty at cluster scope. */
export const ObjectNamespace = z
  .string()
  .check(z.refine((name) => name === "" || isObjectName(name), "expected the name of a namespace"));
