/** What a service watches besides what it needs to serve: `/readyz` shows it, and takes no requests away because of it. */
export class Alarms {
  private readonly reports = new Map<string, () => string>();

  /** `report` answers `ok`, or a sentence on what is wrong. */
  add(name: string, report: () => string): void {
    this.reports.set(name, report);
  }

  report(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.reports].map(([name, report]) => [name, report()]));
  }
}
