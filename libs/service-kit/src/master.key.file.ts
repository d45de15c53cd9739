import { parseMasterKeys, type MasterKeys } from '@fairlead/embedded/credentials';
import { readFileSync } from 'node:fs';

/** Source of a service's master keys. */
export interface MasterKeySource {
  /** The keys as last read. */
  known(): MasterKeys;
  /** Reads the keys again: a rotation changes them while the service runs. */
  fresh(): MasterKeys;
}

/** The master key file. Throws if it is invalid. */
export class MasterKeyFile implements MasterKeySource {
  private keys: MasterKeys;

  constructor(private readonly file: string) {
    this.keys = this.read();
  }

  known(): MasterKeys {
    return this.keys;
  }

  fresh(): MasterKeys {
    this.keys = this.read();
    return this.keys;
  }

  private read(): MasterKeys {
    try {
      return parseMasterKeys(readFileSync(this.file, 'utf8'));
    } catch (error) {
      throw new Error(`${this.file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }
}
