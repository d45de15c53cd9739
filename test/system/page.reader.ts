import type { SignInCodeView } from '@fairlead/contracts';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import type { System } from './system.js';

const SEEN_MS = 20_000;

/** Reads the operator's page of a system in a real browser. */
export class PageReader {
  /** Errors that the browser reported, including policies that the page itself violates. */
  readonly complaints: string[] = [];

  constructor(
    private readonly system: System,
    private readonly browser: Browser,
  ) {}

  async codeFor(token: string): Promise<string> {
    const answer = await fetch(`${this.system.server}/sign-in/codes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    });
    return ((await answer.json()) as SignInCodeView).code;
  }

  async newPage(): Promise<Page> {
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 800 },
      acceptDownloads: true,
      ignoreHTTPSErrors: true, // Of an identity provider with a certificate of its own; the page itself is at http.
    });
    const made = await context.newPage();
    made.setDefaultTimeout(SEEN_MS);
    made.on('pageerror', (error) => this.complaints.push(String(error)));
    made.on('console', (message) => {
      const text = message.text();
      // The page itself handles statuses of responses: 401 before sign-in, 4xx of a plan, and no response while the
      // gateway is down.
      if (message.type() === 'error' && !/status of \d+|ERR_/.test(text)) this.complaints.push(text);
    });
    return made;
  }

  async signedIn(token: string): Promise<Page> {
    const made = await this.newPage();
    await made.goto(`${this.system.server}/#/sign-in/${await this.codeFor(token)}`);
    await made.getByRole('heading', { name: 'Fleet' }).waitFor();
    return made;
  }

  /** Serious or critical violations of axe rules, with their location. */
  async seriousFaults(at: Page): Promise<readonly string[]> {
    await at.evaluate(axe.source);
    const { violations } = await at.evaluate(async () => {
      const { axe: inPage, document } = globalThis as unknown as { axe: typeof axe; document: axe.ElementContext };
      return inPage.run(document, { resultTypes: ['violations'] });
    });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)}`);
  }
}
