import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { ExternalFailure } from '@fairlead/contracts';
import { toAddress } from './addresses.rules.js';

export interface ClaimRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Who owns which address: a file per address that names its owner. It is created atomically and never overwrites one,
 * so that two concurrent claims of the same address cannot both succeed.
 */
export class AddressClaims {
  private readonly folder: string;

  constructor(networkFolder: string) {
    this.folder = join(networkFolder, 'addresses');
  }

  /** The owner's address: its existing one, else the first free one. */
  claim(owner: string, { first, last }: ClaimRange): string {
    mkdirSync(this.folder, { recursive: true });
    const held = this.of(owner);
    if (held !== undefined) return held;
    for (let value = first; value <= last; value += 1) {
      const address = toAddress(value);
      if (!existsSync(join(this.folder, address)) && this.take(address, owner)) return address;
    }
    throw new ExternalFailure({
      operation: 'choose an address',
      target: owner,
      message: `all ${last - first + 1} addresses from ${toAddress(first)} to ${toAddress(last)} are taken`,
      retryable: false,
    });
  }

  of(owner: string): string | undefined {
    if (!existsSync(this.folder)) return undefined;
    return readdirSync(this.folder).find((address) => this.ownerOf(address) === owner);
  }

  release(owner: string): void {
    const address = this.of(owner);
    if (address !== undefined) rmSync(join(this.folder, address), { force: true });
  }

  private ownerOf(address: string): string | undefined {
    try {
      return readFileSync(join(this.folder, address), 'utf8');
    } catch {
      return undefined; // Released between two reads.
    }
  }

  private take(address: string, owner: string): boolean {
    const temporary = join(this.folder, `.${randomUUID()}`);
    writeFileSync(temporary, owner);
    try {
      linkSync(temporary, join(this.folder, address));
      return true;
    } catch {
      return false; // Another claim was faster: try the next one.
    } finally {
      rmSync(temporary);
    }
  }
}
