import { wordsOf } from '@fairlead/contracts';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastWordsOf, runCommand } from '../process/command.js';
import type { DownloadedBinary } from './debian.download.js';
import { NATS_RELEASE, releaseCpuOf, releaseName, releaseUrl } from './release.pins.js';

const DOWNLOAD_TIMEOUT_MS = 90_000;
const UNPACK_TIMEOUT_MS = 20_000;
const ARCHIVE_SIZE_MAX_BYTES = 64 * 1024 * 1024;

/**
 * Downloads the pinned release archive and verifies its SHA-256 before anything is unpacked or run. Resolves to the
 * reasons of a failure; to none if `use` accepted the binary. `fetchArchive` is the network, replaced in tests.
 */
export const withReleaseDownload = async (
  use: (binary: DownloadedBinary) => Promise<string | undefined>,
  fetchArchive: (url: string) => Promise<Buffer> = fetchBounded,
): Promise<readonly string[]> => {
  const cpu = releaseCpuOf(process.platform, process.arch);
  if (cpu === undefined) return [`there is no pinned release archive for ${process.platform}/${process.arch}`];
  const url = releaseUrl(cpu);
  const workDir = mkdtempSync(join(tmpdir(), 'fairlead-nats-'));
  try {
    const archive = await fetchArchive(url);
    const actual = createHash('sha256').update(archive).digest('hex');
    if (actual !== NATS_RELEASE.sha256[cpu])
      return [`${url}: its SHA-256 is ${actual}, not the pinned ${NATS_RELEASE.sha256[cpu]}`];
    writeFileSync(join(workDir, 'archive.tar.gz'), archive);
    const unpacked = await runCommand('tar', ['-xzf', 'archive.tar.gz'], {
      timeoutMs: UNPACK_TIMEOUT_MS,
      cwd: workDir,
    });
    if (unpacked.code !== 0) return [`${url}: ${lastWordsOf(unpacked)}`];
    const reason = await use({ path: join(workDir, releaseName(cpu), 'nats-server'), source: url });
    return reason === undefined ? [] : [`${url}: ${reason}`];
  } catch (error) {
    return [`${url}: ${describeFetchError(error)}`];
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
};

const fetchBounded = async (url: string): Promise<Buffer> => {
  const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.length;
    if (sizeBytes > ARCHIVE_SIZE_MAX_BYTES) throw new Error(`is larger than ${ARCHIVE_SIZE_MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** `fetch failed` alone is not helpful; its cause is. */
const describeFetchError = (error: unknown): string =>
  error instanceof Error && error.cause !== undefined ? `${error.message} (${wordsOf(error.cause)})` : wordsOf(error);
