-- SPDX-License-Identifier: GPL-2.0-or-later
-- Copyright (C) 2026 The slurm-hpc-balance developers
--
-- Lets `srun ./program` start a program of either MPI: looks up what the program is
-- linked with and chooses the process manager interface that its MPI speaks.  Without
-- it every MPICH program under --mpi=pmix runs as so many single-rank programs, with
-- no message at all.  An explicit --mpi or SLURM_MPI_TYPE is left alone.  Slurm's own
-- cli_filter/lua runs this in srun wherever it is called from.

local MAX_WORDS = 16 -- launchers (env, timeout, numactl) stand before the program

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

function slurm_cli_setup_defaults(options, early)
	return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
	if options["type"] ~= "srun" or options["mpi"] then
		return slurm.SUCCESS
	end
	for i, word in ipairs(options["argv"]) do
		local path = i <= MAX_WORDS and word:sub(1, 1) ~= "-" and find_program(word)
		local interface = path and magic(path) == "\127ELF" and interface_of(path)
		if interface then
			options["mpi"] = interface
			break
		end
	end
	return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
	return slurm.SUCCESS
end
