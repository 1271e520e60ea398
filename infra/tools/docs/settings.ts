/** Renders the fields of a LifeboatConfiguration as a table for administrators. */
import { type Field, type Fields, SCHEMA } from "../../../shared/settings/settings.ts";
import { code, renderTable } from "./policy/tables.ts";

export function settingsTable(): string {
  return renderTable([["field of `spec`", "accepts", "default"], ...rowsOf(SCHEMA, "")]);
}

function rowsOf(fields: Fields, path: string): readonly (readonly string[])[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const full = `${path}${name}`;
    return field.kind === "section"
      ? rowsOf(field.fields, `${full}.`)
      : [[code(full), acceptedBy(field), defaultOf(field)]];
  });
}

type Leaf = Exclude<Field, { readonly kind: "section" }>;

function acceptedBy(field: Leaf): string {
  switch (field.kind) {
    case "seconds":
      return `0 to ${field.most} s`;
    case "count":
      return "a whole number from 1 on";
    case "oneOf":
      return field.values.map(code).join(", ");
    case "usernames":
      return field.least === 0 ? "usernames" : "usernames, at least one";
  }
}

function defaultOf({ fallback }: Leaf): string {
  // The value is too long for a cell.
  return typeof fallback === "object" ? "see below" : code(String(fallback));
}
