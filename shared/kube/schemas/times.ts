/** Defines schemas for times in RFC 3339. */
import * as z from "zod/mini";

const MESSAGE = "expected a time";

/**
 * A time that Go can omit. The API server's format `date-time` also allows times that do not exist, such as an offset
 * of 99 hours. The schema rejects such a time, because a rule would ignore it.
 */
export const TimeText = z.transform((input: unknown, { issues }): string | undefined => {
  if (input === undefined || input === null || input === "") return undefined;
  if (typeof input === "string" && isTime(input)) return input;
  issues.push({ code: "custom", input, message: MESSAGE });
  return undefined;
});

/** A time, in milliseconds since 1970. */
export const Time = z.lazy(() =>
  z.pipe(
    z.string(MESSAGE).check(z.refine(isTime, MESSAGE)),
    z.transform((text) => Date.parse(text)),
  ),
);

function isTime(text: string): boolean {
  return /^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text));
}
