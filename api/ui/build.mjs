// Builds the dashboard from src into dist, or with --test bundles the tests of src/lib and src/state and runs them.
import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const src = (...p) => join(here, 'src', ...p);
const api = JSON.parse(await readFile(join(here, '..', 'openapi.json'), 'utf8'));
const common = {
  bundle: true,
  define: { configKinds: JSON.stringify(api.components.schemas.Config.properties.kind.enum) },
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
};

async function dashboard() {
  const dist = join(here, 'dist');
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist);
  const result = await build({
    ...common,
    entryPoints: { app: src('main.tsx'), theme: src('theme.ts'), style: src('style', 'index.css') },
    outdir: dist,
    format: 'iife',
    target: ['es2022', 'chrome120', 'firefox121', 'safari17.5'],
    minify: true,
    legalComments: 'none',
    metafile: true,
  });
  await copyFile(src('index.html'), join(dist, 'index.html'));
  await copyFile(src('icon.svg'), join(dist, 'icon.svg'));
  await writeFile(join(dist, 'NOTICE.txt'), await notice(Object.keys(result.metafile.inputs)));
}

// What others have written and dist holds: their licences say that they go along.
async function notice(inputs) {
  const names = new Set();
  for (const input of inputs) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input);
    if (found) names.add(found[1]);
  }
  const parts = ['The dashboard of Reroll holds parts of the following works.\n'];
  for (const name of [...names].sort()) {
    const dir = join(here, 'node_modules', name);
    const { version, license } = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8'));
    const file = (await readdir(dir)).find((f) => /^licen[cs]e/i.test(f));
    if (!file) throw new Error(`${name} comes without its licence`);
    parts.push(`${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${(await readFile(join(dir, file), 'utf8')).trim()}\n`);
  }
  return parts.join('\n');
}

async function tests() {
  const out = await mkdtemp(join(tmpdir(), 'reroll-dashboard-'));
  try {
    const files = [];
    for (const dir of ['lib', 'state']) files.push(...(await readdir(src(dir))).filter((f) => f.endsWith('.test.ts')).map((f) => join(dir, f)));
    await build({
      ...common,
      entryPoints: files.map((f) => src(f)),
      outbase: src(),
      outdir: out,
      outExtension: { '.js': '.mjs' },
      format: 'esm',
      platform: 'node',
      target: 'node18',
    });
    const run = spawnSync(process.execPath, ['--test', ...files.map((f) => join(out, f.replace(/\.ts$/, '.mjs')))], { stdio: 'inherit' });
    process.exitCode = run.status ?? 1;
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

await (process.argv.includes('--test') ? tests() : dashboard());
