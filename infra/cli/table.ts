/** Aligns text in columns. */
export type Cells = readonly string[];

export interface Alignment {
  readonly gap?: string;
  readonly right?: (column: number) => boolean;
}

export function aligned(
  rows: readonly Cells[],
  { gap = "  ", right = () => false }: Alignment = {},
): readonly string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const pad = (cell: string, column: number) =>
    right(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return rows.map((row) => row.map(pad).join(gap).trimEnd());
}
