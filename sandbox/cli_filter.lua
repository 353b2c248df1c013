-- SPDX-License-Identifier: GPL-2.0-or-later
-- Copyright (C) 2026 The slurm-hpc-balance developers
--
-- Lets `srun ./program` start a program of either MPI: looks up what the program is
-- linked with and chooses the process manager interface that its MPI speaks.  Without
-- it every MPICH program under --mpi=pmix runs as so many single-rank programs, with
-- no message at all.  An explicit --mpi or SLURM_MPI_TYPE is left alone.  Slurm's own
-- cli_filter/lua runs this in srun wherever it is called from.
--
-- Outside of an allocation the interface is set as a default before srun reads its
-- options: later, the second component of a heterogeneous step (22.05) would take it
-- for an option of its own and refuse it.  The command is not known so early, hence
-- srun's own command line: its first word that names an MPI program decides, so that
-- launchers may stand before it.  Inside an allocation 22.05 asks for no defaults; there
-- a step of several components needs --mpi.

local function quoted(text)
	return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- The first bytes of a file, or nil.
local function magic(path)
	local file = io.open(path, "rb")
	local bytes = file and file:read(4)
	if file then
		file:close()
	end
	return bytes
end

local function find_program(word)
	if word:find("/", 1, true) then
		return magic(word) and word
	end
	for dir in (os.getenv("PATH") or ""):gmatch("[^:]+") do
		if magic(dir .. "/" .. word) then
			return dir .. "/" .. word
		end
	end
end

local function interface_of(path)
	local pipe = io.popen("env -u LD_PRELOAD ldd " .. quoted(path) .. " 2>/dev/null")
	local libraries = pipe and pipe:read("*a") or ""
	if pipe then
		pipe:close()
	end
	if libraries:find("libopen%-pal") or libraries:find("libopen%-rte") then
		return "pmix"
	elseif libraries:find("libmpich") or libraries:find("libmpi%.so") then
		return "pmi2"
	end
end

local function words_of_command()
	local file = io.open("/proc/self/cmdline", "rb")
	local line = file and file:read("*a") or ""
	if file then
		file:close()
	end
	local words = {}
	for word in line:gmatch("[^%z]+") do
		words[#words + 1] = word
	end
	return words
end

local function interface_of_command(words)
	for _, word in ipairs(words) do
		local path = word:sub(1, 1) ~= "-" and find_program(word)
		local interface = path and magic(path) == "\127ELF" and interface_of(path)
		if interface then
			return interface
		end
	end
end

local function choose(options, words)
	local interface = interface_of_command(words)
	if interface then
		options["mpi"] = interface
	end
end

function slurm_cli_setup_defaults(options, early)
	if options["type"] == "srun" and not options["mpi"] then
		choose(options, words_of_command())
	end
	return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
	if options["type"] ~= "srun" or options["mpi"] then
		return slurm.SUCCESS
	end
	local words = words_of_command()
	for _, word in ipairs(words) do
		if word == ":" then
			return slurm.SUCCESS
		end
	end
	choose(options, words)
	return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
	return slurm.SUCCESS
end
