/** Field errors with the real server's messages (k8s.io/apimachinery/pkg/util/validation/field/errors.go). */
import { textOf } from "./objects.ts";
import type { FieldError } from "./status.ts";

export function unless(fine: boolean, error: FieldError): readonly FieldError[] {
  return fine ? [] : [error];
}

export function invalidValue(field: string, value: unknown, detail: string): FieldError {
  return { reason: "FieldValueInvalid", field, message: `Invalid value: ${shown(value)}: ${detail}` };
}

export function typeInvalid(field: string, value: unknown, detail: string): FieldError {
  return { ...invalidValue(field, value, detail), reason: "FieldValueTypeInvalid" };
}

export function requiredValue(field: string, detail = ""): FieldError {
  return { reason: "FieldValueRequired", field, message: `Required value${detail === "" ? "" : `: ${detail}`}` };
}

export function forbiddenValue(field: string, detail: string): FieldError {
  return { reason: "FieldValueForbidden", field, message: `Forbidden: ${detail}` };
}

export function duplicateValue(field: string, value: unknown): FieldError {
  return { reason: "FieldValueDuplicate", field, message: `Duplicate value: ${shown(value)}` };
}

export function tooLongValue(field: string, limit: number): FieldError {
  return { reason: "FieldValueTooLong", field, message: `Too long: may not be more than ${limit} bytes` };
}

export function tooManyValue(field: string, limit: number, actual: number): FieldError {
  return { reason: "FieldValueTooMany", field, message: `Too many: ${actual}: must have at most ${limit} items` };
}

export function unsupportedValue(field: string, value: unknown, supported: readonly string[]): FieldError {
  const list = supported.map((one) => JSON.stringify(one)).join(", ");
  return {
    reason: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${shown(value)}: supported values: ${list}`,
  };
}

export function invalidIf(isWrong: boolean, ...error: Parameters<typeof invalidValue>): readonly FieldError[] {
  return isWrong ? [invalidValue(...error)] : [];
}

export function requiredIf(isMissing: boolean, ...error: Parameters<typeof requiredValue>): readonly FieldError[] {
  return isMissing ? [requiredValue(...error)] : [];
}

/** Checks that a value is in the list of supported values. A missing value is valid. */
export function oneOf(field: string, value: unknown, supported: readonly string[]): readonly FieldError[] {
  return value === undefined || supported.includes(textOf(value)) ? [] : [unsupportedValue(field, value, supported)];
}

function shown(value: unknown): string {
  return value === undefined ? "null" : JSON.stringify(value);
}
