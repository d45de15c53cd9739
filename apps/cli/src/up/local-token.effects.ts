import { existsSync, readFileSync } from 'node:fs';

/** The gateway makes the local administrator's token, and another one when that of the file was revoked; whoever starts it says so. */
export class LocalTokenWatch {
  private readonly before: string | undefined;

  constructor(private readonly file: string) {
    this.before = tokenIn(file);
  }

  tell(say: (sentence: string) => void): void {
    if (this.before === undefined || this.before === tokenIn(this.file)) return;
    say(`The local administrator's token was revoked. A new one is in ${this.file}; it is in use from now on.`);
  }
}

const tokenIn = (file: string): string | undefined => {
  const text = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  return text === '' ? undefined : text;
};
