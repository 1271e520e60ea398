/** A flag in a query: `true`, `false`, or absent, which is false. Anything else is the caller's mistake. */
import type { Context } from "hono";
import { RejectionError } from "./rejection.ts";

export function queryFlag(c: Context, field: string): boolean {
  const value = c.req.query(field);
  if (value === undefined || value === "false") return false;
  if (value === "true") return true;
  throw new RejectionError("BadRequest", { field, message: "expected true or false" });
}
